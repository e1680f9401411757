"""Profiling-trace diagnostic analyzer for NVIDIA GPU workloads."""

__version__ = "0.1.0"
