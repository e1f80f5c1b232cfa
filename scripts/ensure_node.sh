#!/usr/bin/env bash
# Makes sure that the dashboard can be built for the tests in a browser.
#
# Without Node.js and npm those tests are skipped, loudly. Fairlead itself needs neither.
set -euo pipefail

has_node() {
    command -v npm >/dev/null && command -v node >/dev/null &&
        node -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 20 || (a == 20 && b >= 19) ? 0 : 1)'
}

can_install() {
    [ "$(id -u)" = 0 ] && [ -f /etc/debian_version ] && command -v apt-get >/dev/null
}

install_node() {
    export DEBIAN_FRONTEND=noninteractive
    exec 9>/run/lock/fairlead-packages && flock 9  # packages are installed one at a time
    apt-get update -qq || return 1
    apt-get install -y -qq --no-install-recommends nodejs npm >/dev/null || return 1
}

notice() {
    {
        echo "************************************************************************"
        echo "NOTICE: Node.js 20.19 or newer with npm was not found."
        echo "The dashboard is NOT built and its tests in a browser will NOT run."
        echo "Debian 13 or newer: sudo apt-get install nodejs npm."
        echo "************************************************************************"
    } >&2
}

if has_node; then
    exit 0
fi

if can_install; then
    echo "Installing Node.js for the tests of the dashboard"
    if install_node && has_node; then
        exit 0
    fi
    echo "apt-get could not install a Node.js that is new enough." >&2
fi

notice
exit 0
