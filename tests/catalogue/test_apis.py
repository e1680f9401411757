"""API names as nsys and CUPTI spell them, groups, and return codes."""

from __future__ import annotations

import pytest

from diagnose.catalogue import apis, load


@pytest.mark.parametrize(
    ("name", "base", "key"),
    [
        ("cudaMalloc_v3020", "cudaMalloc", "cudaMalloc"),
        ("cudaMallocAsync_v11020", "cudaMallocAsync", "cudaMallocAsync"),
        ("cuMemAlloc_v2", "cuMemAlloc_v2", "cuMemAlloc"),
        ("cuMemcpyHtoDAsync_v2", "cuMemcpyHtoDAsync_v2", "cuMemcpyHtoDAsync"),
        ("cudaMemPrefetchAsync_v2_v12020", "cudaMemPrefetchAsync_v2", "cudaMemPrefetchAsync"),
        ("cudaStreamGetCaptureInfo_v2_v11030", "cudaStreamGetCaptureInfo_v2", "cudaStreamGetCaptureInfo"),
        ("cudaLaunchKernel_ptsz_v7000", "cudaLaunchKernel", "cudaLaunchKernel"),
        ("cudaMemcpy_ptds_v7000", "cudaMemcpy", "cudaMemcpy"),
        ("cuMemcpyHtoDAsync_v2_ptsz", "cuMemcpyHtoDAsync_v2", "cuMemcpyHtoDAsync"),
        ("cudaMemcpy", "cudaMemcpy", "cudaMemcpy"),
        ("", "", ""),
    ],
)
def test_normalise(name: str, base: str, key: str) -> None:
    assert apis.normalise(name) == base
    assert apis.group_key(name) == key


@pytest.mark.parametrize(
    ("name", "groups"),
    [
        ("cudaMalloc_v3020", {"alloc"}),
        ("cuMemAlloc_v2", {"alloc"}),
        ("cudaMallocAsync_v11020", {"async_alloc"}),
        ("cudaMallocFromPoolAsync_ptsz_v11020", {"async_alloc"}),
        ("cudaFreeAsync_v11020", {"async_free"}),
        ("cudaMemPoolTrimTo_v11020", {"pool_control"}),
        ("cuMemPoolSetAttribute", {"pool_control"}),
        ("cuMemCreate", {"vmm"}),
        ("cudaHostAlloc_v3020", {"host_alloc"}),
        ("cudaFree_v3020", {"free", "implicit_sync"}),
        ("cudaMallocManaged_v6000", {"managed_alloc", "managed"}),
        ("cudaMemAdvise_v2_v12020", {"managed"}),
        ("cudaMemPrefetchAsync_v8000", {"prefetch"}),
        ("cuMemPrefetchAsync_v2", {"prefetch"}),
        ("cudaStreamSynchronize_v3020", {"sync", "stream_sync"}),
        ("cudaDeviceSynchronize_v3020", {"sync", "device_sync"}),
        ("cuCtxSynchronize", {"sync", "device_sync"}),
        ("cudaEventSynchronize_v3020", {"sync", "event_sync"}),
        ("cudaStreamWaitEvent_v3020", set()),  # does not block the host
        ("cudaEventQuery_v3020", {"poll"}),
        ("cudaLaunchKernel_v7000", {"launch"}),
        ("cudaLaunchKernelExC_v11060", {"launch"}),
        ("cuLaunchKernelEx", {"launch"}),
        ("cudaGraphLaunch_v10000", {"graph_launch"}),
        ("cudaGraphInstantiateWithFlags_v11040", {"graph_capture"}),
        ("cudaStreamBeginCapture_v10000", {"graph_capture"}),
        ("cudaMemcpyAsync_v3020", {"memcpy"}),
        ("cudaMemcpy_v3020", {"memcpy", "implicit_sync"}),
        ("cudaMemsetAsync_v3020", {"memset"}),
        ("cuModuleLoadDataEx", {"module_load"}),
        ("cuModuleGetFunction", set()),
        ("cudaLibraryLoadData_v12060", {"module_load"}),
        ("cuDevicePrimaryCtxRetain", {"context"}),
        ("cudaGetDevice_v3020", set()),
        ("cudaLaunchHostFunc_v10000", set()),  # no kernel
    ],
)
def test_groups(name: str, groups: set[str]) -> None:
    assert apis.groups_of(name) == groups


def test_the_groups_that_metrics_may_ask_for() -> None:
    wanted = (
        "alloc async_alloc async_free pool_control vmm host_alloc free managed_alloc managed "
        "prefetch sync stream_sync "
        "device_sync event_sync implicit_sync poll launch graph_launch graph_capture memcpy memset "
        "module_load context"
    )
    assert set(apis.GROUPS) == set(wanted.split())


def test_names_in_the_file_carry_no_suffix() -> None:
    for group in apis.groups().values():
        assert group.meaning
        for name in group.names:
            assert apis.group_key(name) == name, name
            assert name.startswith("cu")


def test_codes() -> None:
    assert apis.code_name(209) == "cudaErrorNoKernelImageForDevice"
    assert apis.code_name(209, driver=True) == "CUDA_ERROR_NO_BINARY_FOR_GPU"
    assert apis.code_name(98, driver=True) == "cudaErrorInvalidDeviceFunction"  # only the runtime has it
    assert apis.code_name(0) == "success"
    assert apis.code_name(12345) == "code 12345"
    assert apis.return_codes()[700].asynchronous
    assert not apis.return_codes()[701].asynchronous
    numbers = [entry["number"] for entry in load.data("apis.toml")["code"]]
    assert len(numbers) == len(set(numbers))


@pytest.mark.parametrize(
    ("code", "name", "at_end", "retried", "benign"),
    [
        (0, "cudaMalloc", False, False, True),
        (600, "cudaEventQuery_v3020", False, False, True),
        (600, "cudaMalloc", False, False, False),
        (704, "cudaDeviceEnablePeerAccess", False, False, True),
        (704, "cudaMemcpy", False, False, False),
        (709, "cuCtxSynchronize", True, False, True),
        (709, "cuCtxSynchronize", False, False, False),
        (4, "cudaFree", True, False, True),
        (2, "cudaMalloc", False, True, True),
        (2, "cudaMalloc", False, False, False),
        (2, "cudaHostAlloc", False, True, False),
        (701, "cudaLaunchKernel", True, True, False),
    ],
)
def test_benign(code: int, name: str, at_end: bool, retried: bool, benign: bool) -> None:
    assert apis.is_benign(code, name, at_end=at_end, retried=retried) is benign
