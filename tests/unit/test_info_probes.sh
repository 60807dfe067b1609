#!/bin/sh
# test_info_probes: hanpmpi_info prints the machine's name, and the probes that the cache has of it.
#
# usage: test_info_probes.sh hanpmpi_info VERSION
set -eu
info=$1
version=$2
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT

machine=$("$info" --machine-name)
echo "$machine" | grep -qxE '[a-z0-9._-]{1,63}'
HANPMPI_CACHE=$directory "$info" --probes | grep -qF "no probes of $machine in $directory"
HANPMPI_CACHE=off "$info" --probes | grep -q "HANPMPI_CACHE is off"
for mpi in openmpi mpich; do
    printf '{"format": 1, "library": "%s", "machine": "%s", "mpi": "%s", "probes": {"between_rate": 119.5}}' \
        "$version" "$machine" "$mpi" >"$directory/$machine-$mpi.json"
done
HANPMPI_CACHE=$directory "$info" --probes >"$directory/out"
grep -qx "openmpi on $machine" "$directory/out"
grep -qx "mpich on $machine" "$directory/out"
[ "$(grep -cE 'between_rate +119.5 MB/s ' "$directory/out")" = 2 ]
[ "$(grep -cE 'flag_us +unknown ' "$directory/out")" = 2 ]

# What the model expects of a collective of blocks, and what it would try beside the rules.
printf '{"format": 1, "library": "%s", "machine": "%s", "mpi": "openmpi", "probes": {"flag_us": 0.2, "inside_us": 0.4, "inside_rate": 8000, "between_us": 2.6,
    "between_rate": 12500, "between_cpu_us": 0.3, "copy_rate": 12000, "node_copy_rate": 80000, "reduce_rate": 8000, "overlap": 0.8, "cores": 64}}' \
    "$version" "$machine" >"$directory/$machine-openmpi.json"
rm "$directory/$machine-mpich.json"
HANPMPI_CACHE=$directory "$info" --explain "allgather nodes=18 ppn=16 bytes=8" >"$directory/out"
grep -qE '^  runs +han, bruck, knomial4 inside, all lead +a built-in rule; expected: [0-9.]+ us$' "$directory/out"
grep -qE '^  and +han, mesh2d, [a-z0-9]+ inside, all lead +the model, from probes of this machine; expected: [0-9.]+ us$' "$directory/out"
grep -qE '^  the least time that is possible: 2.60 us$' "$directory/out"
