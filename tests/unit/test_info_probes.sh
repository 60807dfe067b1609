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
