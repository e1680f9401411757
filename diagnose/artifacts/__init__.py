"""Readers of file formats: each knows one artifact kind and nothing of metrics or signatures."""
