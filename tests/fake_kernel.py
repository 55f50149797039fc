"""A made-up tree of the kernel's files: NUMA nodes, PCI devices, AMD's topology. The facts are of our own making."""

from pathlib import Path


def write_file(root: Path, name: str, text: object) -> None:
    """Write one file of the kernel's, with the folders above it."""
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(f"{text}\n", encoding="utf-8")


def write_nodes(root: Path, *cpulists: str) -> None:
    """Write NUMA nodes with these cores, `0-7`."""
    last = len(cpulists) - 1
    write_file(root, "sys/devices/system/node/online", f"0-{last}" if last else "0")
    for node, cpulist in enumerate(cpulists):
        write_file(root, f"sys/devices/system/node/node{node}/cpulist", cpulist)


def write_amd_host(root: Path) -> None:
    """Write two MI300X that are joined by AMD's links and a consumer card without UUID, behind one processor."""
    write_nodes(root, "0-7", "8-15")
    write_file(root, "dev/kfd", "")
    write_file(root, "sys/module/amdgpu/version", "6.12.12")
    write_file(root, "sys/class/kfd/kfd/topology/nodes/0/gpu_id", 0)
    write_file(
        root, "usr/share/libdrm/amdgpu.ids", "744C,\tC8,\tAMD Radeon RX 7900 XTX\n744C,\tCC,\tAMD Radeon RX 7900 XT"
    )
    for node in (1, 2):
        write_amd_card(root, node, unique_id=0x1A2B3C4D5E6F7000 + node)
        pci = f"sys/bus/pci/devices/0000:{node * 16:02x}:00.0"
        write_file(root, f"{pci}/product_name", "AMD Instinct MI300X OAM")
        write_file(
            root, f"sys/class/kfd/kfd/topology/nodes/{node}/io_links/1/properties", f"type 11\nnode_to {3 - node}"
        )
        write_file(root, f"{pci}/current_compute_partition", "SPX")
        write_file(root, f"{pci}/current_memory_partition", "NPS1")
        write_file(root, f"{pci}/hwmon/hwmon3/power1_cap", 700_000_000)
        write_file(root, f"{pci}/hwmon/hwmon3/power1_cap_default", 750_000_000)
        write_file(root, f"{pci}/hwmon/hwmon3/temp1_input", 41_500)
        write_file(root, f"{pci}/pp_dpm_sclk", "0: 132Mhz *\n1: 2100Mhz")
        write_file(root, f"{pci}/vbios_version", "113-M3000100-102")
        write_file(root, f"{pci}/ras/features", "feature mask: 0x5fff")
    write_amd_card(root, 3, target=110000, simds=192, simds_a_unit=2, memory_gib=23.98, numa_node=1)
    write_file(root, "sys/bus/pci/devices/0000:30:00.0/device", "0x744c")
    write_file(root, "sys/bus/pci/devices/0000:30:00.0/revision", "0xc8")


def write_amd_card(
    root: Path,
    node: int,
    *,
    unique_id: int = 0,
    target: int = 90402,
    simds: int = 1216,
    simds_a_unit: int = 4,
    memory_gib: float = 191.98,
    numa_node: int = 0,
) -> None:
    """Write one GPU of the topology, with its PCI device at bus `node` times 16."""
    minor = 127 + node
    folder = f"sys/class/kfd/kfd/topology/nodes/{node}"
    write_file(root, f"{folder}/gpu_id", 1000 + node)
    write_file(
        root,
        f"{folder}/properties",
        f"simd_count {simds}\nsimd_per_cu {simds_a_unit}\ngfx_target_version {target}\nlocation_id {node * 16 << 8}\n"
        f"domain 0\ndrm_render_minor {minor}\nunique_id {unique_id}\nmax_engine_clk_fcompute 2500",
    )
    write_file(root, f"dev/dri/renderD{minor}", "")
    pci = f"sys/bus/pci/devices/0000:{node * 16:02x}:00.0"
    write_file(root, f"{pci}/mem_info_vram_total", int(memory_gib * 2**30))
    write_file(root, f"{pci}/numa_node", numa_node)
