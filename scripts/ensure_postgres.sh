#!/usr/bin/env bash
# Makes sure that the tests find PostgreSQL's server programs.
#
# The tests start private servers of their own in temporary folders, so only the programs are needed: no cluster
# is made and no service of this machine is used. Without them the PostgreSQL tests are skipped, loudly; where
# CI=true a missing server is a failure, because a skipped test proves nothing.
set -euo pipefail

has_server() {
    [ -n "$1" ] && [ -x "$1/initdb" ] && [ -x "$1/postgres" ]
}

find_server() {
    local found folder
    if found=$(command -v postgres); then
        folder=$(dirname "$(readlink -f "$found")")
        has_server "$folder" && return 0
    fi
    for folder in /usr/lib/postgresql/*/bin; do
        has_server "$folder" && return 0
    done
    if command -v pg_config >/dev/null; then
        folder=$(pg_config --bindir 2>/dev/null || true)
        has_server "$folder" && return 0
    fi
    return 1
}

can_install() {
    [ "$(id -u)" = 0 ] && [ -f /etc/debian_version ] && command -v apt-get >/dev/null
}

# The package would make and start a cluster; postgresql-common goes in first so that its settings can forbid that.
install_server() {
    local settings=/etc/postgresql-common/createcluster.conf
    export DEBIAN_FRONTEND=noninteractive
    exec 9>/run/lock/fairlead-packages && flock 9  # packages are installed one at a time
    apt-get update -qq || return 1
    apt-get install -y -qq --no-install-recommends postgresql-common >/dev/null || return 1
    sed -i '/^[[:space:]]*create_main_cluster[[:space:]]*=/d' "$settings" || return 1
    echo "create_main_cluster = false" >>"$settings"
    apt-get install -y -qq --no-install-recommends postgresql >/dev/null || return 1
}

warn() {
    {
        echo "************************************************************************"
        echo "WARNING: PostgreSQL's server programs (initdb, postgres) were not found."
        echo "The tests that need PostgreSQL will NOT run. To run them, either"
        echo "  - install PostgreSQL (Debian or Ubuntu: sudo apt-get install postgresql), or"
        echo "  - set FAIRLEAD_TEST_POSTGRES_URL to a server where databases may be created."
        echo "************************************************************************"
    } >&2
}

if [ -n "${FAIRLEAD_TEST_POSTGRES_URL:-}" ] || find_server; then
    exit 0
fi

if can_install; then
    echo "Installing PostgreSQL for the tests (no cluster is made)"
    if install_server && find_server; then
        exit 0
    fi
    echo "apt-get could not install PostgreSQL; its message is above." >&2
fi

warn
if [ "${CI:-}" = true ]; then
    exit 1
fi
exit 0
