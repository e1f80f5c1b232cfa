#!/usr/bin/env bash
# Runs all tests of the current folder, three at a time, with the Python that is given.
#
# If no more than three tests fail, they run once more, alone, so that the report says whether they are broken or
# unstable. A test that passes only the second time fails the run, too: it is a defect, of the test or of what it tests.
# Where UNSTABLE_TESTS_FILE names a file, as in .ci/run, unstable tests are written there and forgiven.
set -uo pipefail
python=$1
most=3
record=.pytest_cache/v/cache/lastfailed
unset PYTHONDONTWRITEBYTECODE  # hundreds of processes are started, and each would compile all of Fairlead

rm -f "$record"
"$python" -m pytest -q -n 3 --dist loadgroup
code=$?
[ "$code" = 1 ] || exit "$code"

# Side by side, the name of a test ends with @ and the group it belongs to.
names='import json, re; [print(re.sub(r"@\w+$", "", name)) for name in json.load(open(0))]'
failed=()
while IFS= read -r name; do failed+=("$name"); done < <("$python" -c "$names" <"$record")
if [ "${#failed[@]}" -gt "$most" ] || [ "${#failed[@]}" = 0 ]; then
    exit 1
fi
echo "Once more, alone: ${#failed[@]} of the tests"
"$python" -m pytest -q "${failed[@]}" || exit 1
echo "UNSTABLE: failed first, passed alone. The first failure above says why:"
printf '    %s\n' "${failed[@]}"
[ -n "${UNSTABLE_TESTS_FILE:-}" ] || exit 1
printf '%s\n' "${failed[@]}" >"$UNSTABLE_TESTS_FILE"
