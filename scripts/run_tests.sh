#!/usr/bin/env bash
# Runs all tests, two at a time, with the Python that is given.
#
# Many of them run real processes, servers and a browser, and two cores are few. So up to three that failed run once
# more, alone. A test that passes then is named as unstable: that is a defect, of the test or of what it tests, and its
# first failure above says more about it. A test that fails again fails the run.
set -uo pipefail
python=$1
most=3
unset PYTHONDONTWRITEBYTECODE  # hundreds of processes are started, and each would compile all of Fairlead

"$python" -m pytest -q -n 2 --dist loadgroup
code=$?
[ "$code" = 1 ] || exit "$code"

failed=$("$python" -c 'import json; print("\n".join(json.load(open(".pytest_cache/v/cache/lastfailed"))))')
count=$(printf '%s\n' "$failed" | grep -c .)
if [ "$count" -gt "$most" ] || [ "$count" = 0 ]; then
    exit 1
fi
echo "Once more, alone: $count of the tests"
"$python" -m pytest -q --last-failed --last-failed-no-failures none || exit 1
printf 'UNSTABLE, failed first and passed alone; find out why:\n%s\n' "$failed"
