"""theory.py: what the counters of a case must be, worked out without looking at the library.

A tree has one link less than ranks, and as many between nodes as nodes less one. Its depth follows from the
formulas of the shapes. A pipeline of s segments takes depth + s - 1 rounds.
"""
import functools

NODES = {"1x1": [1], "1x4": [4], "1x8": [8], "4x4": [4] * 4, "8x1": [1] * 8, "5+3+1": [5, 3, 1], "32x32": [32] * 32,
         "7x3": [3] * 7, "4+3+2": [4, 3, 2]}
TWO_PACKAGES = {"1x8", "4x4", "32x32"}
CYCLIC = {"4x4cyclic": "4x4"}  # the same machine, the ranks dealt out to the nodes in turn
SEGMENT_BYTES = 32768  # where the case names the shapes
ELEMENT_BYTES = {"bcast": 1, "any": 8, "rank": 16}
SHARED = ("shm", "single_copy")


@functools.cache
def binary_depth(count, position):
    """The first position leads, the rest is halved, the first half being the larger one."""
    if position == 0:
        return 0
    left = count // 2
    return 1 + (binary_depth(left, position - 1) if position <= left
                else binary_depth(count - 1 - left, position - 1 - left))


def digits(position, base):
    count = 0
    while position:
        count += position % base != 0
        position //= base
    return count


def postal_depth(count, position, latency=4):
    """Who has the message sends it on every round, to the last position without one; it arrives `latency` rounds later."""
    reached = [1]
    while reached[-1] < count:
        reached.append(reached[-1] + (reached[-latency] if len(reached) >= latency else 0))
    depth, top, size, rounds = 0, 0, count, len(reached) - 1
    while position != top:
        while reached[rounds - 1] >= size:
            rounds -= 1
        share = reached[rounds - latency]
        if position >= top + size - share:
            depth, top, size, rounds = depth + 1, top + size - share, share, rounds - latency
        else:
            size, rounds = size - share, rounds - 1
    return depth


DEPTHS = {
    "linear": lambda count, position: min(position, 1),
    "chain": lambda count, position: position,
    "binary": binary_depth,
    "binomial": lambda count, position: digits(position, 2),
    "knomial4": lambda count, position: digits(position, 4),
    "knomial8": lambda count, position: digits(position, 8),
    "postal": postal_depth,
}


def depth(layout, between_nodes, inside_node, root):
    """Of the deepest rank: positions are counted from the root's node, package and place."""
    sizes = NODES[layout]
    node = 0
    while root >= sizes[node]:
        root -= sizes[node]
        node += 1
    sizes = sizes[node:] + sizes[:node]

    def inside(count):
        parts = 2 if layout in TWO_PACKAGES else 1
        deepest = max(DEPTHS[inside_node](parts, i) for i in range(parts))
        return deepest + max(DEPTHS[inside_node](count // parts, i) for i in range(count // parts))

    if len(sizes) == 1:
        between_nodes = inside_node
    return max(DEPTHS[between_nodes](len(sizes), i) + inside(count) for i, count in enumerate(sizes))


def leaves_of(shape, count):
    """Positions of a tree without children, the root aside: those at which the way down does not go on, in preorder."""
    depths = [DEPTHS[shape](count, position) for position in range(count)] + [0]
    return sum(depths[position + 1] <= depths[position] for position in range(1, count))


def teams(layout, shape="linear"):
    """(teams of more than one rank inside nodes, ranks that lead nothing but themselves and reduce nothing)"""
    parts = 2 if layout in TWO_PACKAGES else 1
    joined, leaves = 0, 0
    for count in NODES[layout]:
        joined += (parts > 1) + (parts if count // parts > 1 else 0)
        leaves += parts * leaves_of(shape, count // parts)
    return joined, leaves


def disseminate(count):
    return count * (count - 1).bit_length()


def inside_messages(layout):
    """Of a barrier in each node: the outermost level is a dissemination, the one inside it a tree, up and down."""
    parts = 2 if layout in TWO_PACKAGES else 1
    return sum(disseminate(count) if parts == 1 else disseminate(parts) + 2 * (count - parts) for count in NODES[layout])


def leader_rounds(nodes, ranks):
    """(rounds, leaders of a node) where all of them lead: as few leaders as take so many rounds."""
    def rounds(leaders):
        return next(count for count in range(33) if (leaders + 1) ** count >= nodes)
    return rounds(ranks), next(leaders for leaders in range(1, ranks + 1) if rounds(leaders) == rounds(ranks))


def expect_barrier(row, layout, shared, all_lead):
    ranks, nodes = sum(NODES[layout]), len(NODES[layout])
    times, between, inside = 1, disseminate(nodes), 2 * (ranks - nodes)
    if all_lead:
        rounds, leaders = leader_rounds(nodes, min(NODES[layout]))
        distances = [(leader + 1) * (leaders + 1) ** number for leader in range(leaders) for number in range(rounds)]
        times, between = rounds + 1, nodes * sum(distance < nodes for distance in distances)
    if all_lead or nodes == 1:
        inside = times * inside_messages(layout)
    yield "segments", times
    yield "messages_node", between
    yield "messages", between + (0 if shared else inside)
    for nothing in ("bytes", "reductions", "copies", "pulls", "pushes"):
        yield nothing, 0
    if not shared:
        yield "sets", 0
    else:  # up, down and done; a rank alone on its node has nobody to tell
        joined, _ = teams(layout)
        yield "sets", times * ((ranks - nodes) + joined + sum(count for count in NODES[layout] if count > 1))


def floor_power(number):
    return 1 << (number.bit_length() - 1)


# Among n nodes: messages of a segment, and bytes as a multiple of the message.
BLOCKS = 8 # of circulant_bcast
EXCHANGES = {
    "ring": lambda n: (2 * n * (n - 1), 2 * (n - 1)),
    "recursive_doubling": lambda n: 2 * (floor_power(n) * (floor_power(n).bit_length() - 1) + 2 * (n - floor_power(n)),),
    "rabenseifner": lambda n: (2 * floor_power(n) * (floor_power(n).bit_length() - 1) + 2 * (n - floor_power(n)),
                               2 * (floor_power(n) - 1) + 2 * (n - floor_power(n))),
    "recursive_multiplying": lambda n: 2 * (multiplying(n)[0] * sum(factor - 1 for factor in multiplying(n)[1]) + 2 * (n - multiplying(n)[0]),),
    "circulant": lambda n: (2 * n * (n - 1).bit_length(), 2 * (n - 1)),
    "circulant_bcast": lambda n: (2 * BLOCKS * (n - 1), 2 * (n - 1)),
}
EXCHANGES["bine"] = EXCHANGES["rabenseifner"]
WHOLE = ("recursive_doubling", "recursive_multiplying")  # vectors are not cut, and all reduce all
BCASTS = {  # nobody gets anything twice
    "rabenseifner": lambda n: (floor_power(n) * (floor_power(n).bit_length() - 1) + n - floor_power(n), n - 1),
    "circulant_bcast": lambda n: (BLOCKS * (n - 1), n - 1),
    "bine": lambda n: (n - 1, n - 1),
}


def count_pieces(row, size):
    """Messages that a link between nodes carries one way: a segment each, or the pieces of each segment."""
    pieces = (row["shapes"].split("/") + [""])[2:3]
    if not pieces or not pieces[0]:
        return int(row["segments"])
    element = ELEMENT_BYTES.get(row["collective"]) or ELEMENT_BYTES[row["order"]]
    segment, piece = (number // element * element for number in (SEGMENT_BYTES, int(pieces[0])))
    return sum(-(-min(segment, size - start) // piece) for start in range(0, size, segment))


def expect_han(row, layout, cyclic):
    ranks, nodes = sum(NODES[layout]), len(NODES[layout])
    collective, size, root = row["collective"], int(row["bytes"]), int(row["root"])
    _, join, module = row["runs"].split(":")
    join = join.split("/")[0]
    shared = module in SHARED and max(NODES[layout]) > 1
    if collective == "barrier":
        yield from expect_barrier(row, layout, shared, join == "all_lead")
        return
    in_rank_order = row["order"] == "rank" and collective != "bcast"
    flat = cyclic and in_rank_order  # no levels keep rank order: ranks of all nodes are joined
    shared = shared and not flat
    segments, ways = int(row["segments"]), 2 if collective == "allreduce" else 1
    extra = 1 if collective == "reduce" and in_rank_order and root != 0 else 0  # from rank 0 to the root
    inside = 0 if shared else ways * (ranks - nodes)
    messages = volume = ways * (nodes - 1)
    pieces = count_pieces(row, size)
    if join not in EXCHANGES and join not in DEPTHS and join != "double_tree":
        return  # an algorithm without a theory
    exchanges = collective == "allreduce" and nodes > 1 and not flat and join in EXCHANGES and (
        not in_rank_order or join in WHOLE)
    among_all = collective == "allreduce" and flat and join in WHOLE
    splits = exchanges and join not in WHOLE
    if exchanges or among_all:
        messages, volume = EXCHANGES[join](ranks if among_all else nodes)
        inside = 0 if among_all else inside
        exchanges = True
    elif collective == "bcast" and nodes > 1 and join in BCASTS:
        splits = join != "bine"
        messages, volume = BCASTS[join](nodes)
    if not splits or size // segments >= 8 * nodes:  # no block is empty
        yield "messages", (inside + extra) * segments + messages * pieces
        if not flat and not extra:
            yield "messages_node", messages * pieces
    yield "bytes", (inside + volume + extra) * size
    if not flat and not extra:
        yield "bytes_node", volume * size
    if not exchanges:
        yield "reductions", 0 if collective == "bcast" else (ranks - nodes) * segments + (nodes - 1) * pieces
    if collective != "bcast" and not (exchanges and join in WHOLE):
        yield "reduced_bytes", (ranks - 1) * size
    yield from expect_copies(row, layout, shared and module, extra, exchanges)
    if module == "p2p" and join in DEPTHS and pieces == segments:
        yield from expect_depth(row, layout, cyclic, ways, extra)


def expect_depth(row, layout, cyclic, ways, extra):
    """Where all levels are trees of messages."""
    ranks, nodes = sum(NODES[layout]), len(NODES[layout])
    collective, root, segments = row["collective"], int(row["root"]), int(row["segments"])
    in_rank_order = row["order"] == "rank" and collective != "bcast"
    if segments > 1 and collective == "allreduce" and not in_rank_order:
        return  # trees that rotate are of different depths
    if cyclic and in_rank_order:  # no tree along the nodes keeps rank order
        return
    shapes = row["runs"].split(":")[1].split("/")
    deep = depth(layout, *shapes, 0 if cyclic or in_rank_order or collective == "allreduce" else root)
    yield "chain", ways * deep + extra
    yield "rounds", ways * deep + extra + (segments - 1 if ranks > 1 else 0)


def expect_copies(row, layout, module, extra, exchanges):
    """Between the ranks of a node; module: False where they share nothing."""
    ranks, nodes, collective, segments = sum(NODES[layout]), len(NODES[layout]), row["collective"], int(row["segments"])
    up, down = collective != "bcast", collective != "reduce"
    joined, leaves = teams(layout, row["runs"].split(":")[1].split("/")[-1] if module == "shm" else "linear")
    everybody = nodes == 1 and layout not in TWO_PACKAGES
    if not module:
        for nothing in ("pulls", "pushes", "sets"):
            yield nothing, 0
    elif module == "shm":  # a leaf's value once into its slot; the result into the leader's, and out of it
        if not exchanges:
            yield "copies", (up * leaves + down * (joined + ranks - nodes)) * segments
        yield "copied", 0
    elif everybody:
        all_work = collective == "reduce" and not extra
        handed_over = segments - -(-segments // ranks) if all_work else 0  # segments that others than the leader reduce
        yield "copies", 0
        yield "copied", (ranks - 1) * segments * (up + down) + handed_over
    else:
        if not exchanges:
            yield "copies", 0
        yield "pulls", (up * leaves + down * (ranks - nodes)) * segments
        yield "pushes", 0


def factors(number, radix):
    """Of a product of numbers up to the radix, the largest first; of another number nothing."""
    found = []
    for factor in range(radix, 1, -1):
        while number % factor == 0:
            found.append(factor)
            number //= factor
    return found if number == 1 else []


def multiplying(number, inside=1, radix=4):
    """How many take part in recursive multiplying, and the factors of that: inside nodes of so many each, and among them."""
    if number % inside == 0 and factors(inside, radix) and factors(number // inside, radix):
        return number, factors(inside, radix) + factors(number // inside, radix)
    found = {power: factors(power, radix) for power in range((number + 1) // 2, number + 1)}
    power = number if found[number] else min((power for power in found if found[power]), key=lambda power: (len(found[power]), -power))
    return power, found[power]


def expect_flat(row, layout, _):
    """Messages among all ranks."""
    ranks, size = sum(NODES[layout]), int(row["bytes"])
    if ranks == 1 or row["runs"].split(":")[1] != "recursive_multiplying":
        return  # an algorithm without a theory
    even = max(NODES[layout]) == min(NODES[layout])
    power, rounds = multiplying(ranks, max(NODES[layout]) if even else 1)
    messages = power * sum(factor - 1 for factor in rounds) + 2 * (ranks - power)
    yield "messages", messages
    yield "bytes", messages * size
    yield "reductions", power * sum(factor - 1 for factor in rounds) + ranks - power
    for nothing in ("pulls", "pushes", "sets"):
        yield nothing, 0


EXPECT = {"han": expect_han, "flat": expect_flat}


def violations(row):
    """What is not as it must be; nothing for an algorithm without a theory."""
    expect = EXPECT.get(row["runs"].split(":")[0])
    if not expect:
        return
    have = {name: int(value) for name, value in row.items() if value.isdigit()}
    for kind in ("messages", "bytes"):
        have[kind] = sum(have[f"{kind}_{level}"] for level in ("node", "package", "core"))
    have["copied"] = have["pulls"] + have["pushes"]
    for name, value in expect(row, CYCLIC.get(row["layout"], row["layout"]), row["layout"] in CYCLIC):
        if have[name] != value:
            yield f"theory: {name} should be {value}, is {have[name]}"
