#!/bin/bash
# test_info_rules: hanpmpi_info writes the built-in rules as a file and says what is wrong with files.
#
# usage: test_info_rules.sh hanpmpi_info RULES_DIR hanpmpi-rules.5
set -u
info=$1
rules=$2
manual=$3
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
failures=0

complain() {
    echo "$*" >&2
    failures=$((failures + 1))
}

"$info" --rules-json >"$directory/built_in.json" || complain "--rules-json: exit status $?"
"$info" --check-rules "$directory/built_in.json" >"$directory/said" 2>"$directory/problems" ||
    complain "--check-rules of the built-in rules: exit status $?"
[ "$(grep -c '^line ' "$directory/said")" = "$(grep -c '"collective"' "$directory/built_in.json")" ] ||
    complain "--check-rules does not show every built-in rule"
grep -v '^note: ' "$directory/problems" && complain "the built-in rules have problems"

"$info" --check-rules "$rules/many.json" >"$directory/said" 2>"$directory/problems"
[ $? = 1 ] || complain "--check-rules of a broken file: not exit status 1"
[ "$(grep -c 'is less than 0' "$directory/problems")" = 25 ] || complain "--check-rules does not show every problem"
grep -q '^line 27: bcast: han' "$directory/said" || complain "--check-rules does not show the good rule of a broken file"
"$info" --check-rules "$directory" 2>/dev/null && complain "--check-rules of a directory: exit status 0"
"$info" --rules-json >/dev/full 2>/dev/null && complain "--rules-json to a full disk: exit status 0"

# The manual page's files are files of rules.
awk -v out="$directory/manual" '/^\.nf/ { n++; text = ""; next } /^\.fi/ { if (text ~ /^{/) print text > (out n ".json"); next } { text = text $0 "\n" }' "$manual"
for example in "$directory"/manual*.json; do
    "$info" --check-rules "$example" >"$directory/said" || complain "an example of the manual page has a fault: $(cat "$example")"
    [ -s "$directory/said" ] || complain "an example of the manual page has no rule: $(cat "$example")"
done

exit $((failures != 0))
