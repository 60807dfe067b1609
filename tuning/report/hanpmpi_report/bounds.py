"""The lower bound of a collective from the limits of tune.json: the same arithmetic as
tuning/bench/limits.c."""
LINK_FACTOR = {"bcast": lambda nodes: 1, "reduce": lambda nodes: 1, "allreduce": lambda nodes: 2 * (nodes - 1) / nodes}
MEMORY_FACTOR = {"bcast": lambda ranks: 2 * (ranks - 1), "reduce": lambda ranks: ranks + 1, "allreduce": lambda ranks: 2 * ranks}


def ceil_log2(count):
    return (count - 1).bit_length()


def lower_bound(collective, size, layout, limits):
    """Microseconds that no algorithm can beat, from the limits that there are; None: they say nothing of this
    collective."""
    nodes, fullest = layout["nodes"], layout["ranks_per_node"][1]
    parts = []
    if "inside_us" in limits:
        parts.append(ceil_log2(layout["ranks"]) * limits["inside_us"])
    if "between_us" in limits:
        parts.append(ceil_log2(nodes) * limits["between_us"])
    if "link_bytes_per_us" in limits and nodes > 1 and collective in LINK_FACTOR:
        parts.append(LINK_FACTOR[collective](nodes) * size / limits["link_bytes_per_us"])
    if "copy_bytes_per_us" in limits and collective in MEMORY_FACTOR:
        parts.append(MEMORY_FACTOR[collective](fullest) * size / limits["copy_bytes_per_us"])
    return max(parts) if parts and max(parts) > 0 else None
