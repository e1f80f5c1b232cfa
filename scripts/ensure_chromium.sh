#!/usr/bin/env bash
# Makes sure that the tests in a browser find Debian's Chromium.
#
# The tests drive it without a window and with profiles of their own, so only the program is needed: the one that has
# no windows at all, where Debian has it, since it is three times as fast. Without any they are skipped, loudly: a
# machine that cannot have a browser can still prove everything else.
set -euo pipefail

has_chromium() {
    [ -n "${FAIRLEAD_TEST_CHROMIUM:-}" ] || command -v chromium-headless-shell >/dev/null || command -v chromium >/dev/null
}

can_install() {
    [ "$(id -u)" = 0 ] && [ -f /etc/debian_version ] && command -v apt-get >/dev/null
}

install_chromium() {
    export DEBIAN_FRONTEND=noninteractive
    exec 9>/run/lock/fairlead-packages && flock 9  # packages are installed one at a time
    apt-get update -qq || return 1
    local program=chromium
    if [ -n "$(apt-cache madison chromium-headless-shell)" ]; then
        program=chromium-headless-shell
    fi
    apt-get install -y -qq --no-install-recommends "$program" fonts-dejavu-core >/dev/null || return 1
}

notice() {
    {
        echo "************************************************************************"
        echo "NOTICE: Chromium was not found."
        echo "The tests of the dashboard in a browser will NOT run. To run them, either"
        echo "  - install it (Debian: sudo apt-get install chromium-headless-shell), or"
        echo "  - set FAIRLEAD_TEST_CHROMIUM to the path of a Chromium."
        echo "************************************************************************"
    } >&2
}

if has_chromium; then
    exit 0
fi

if can_install; then
    echo "Installing Chromium for the tests of the dashboard"
    if install_chromium && has_chromium; then
        exit 0
    fi
    echo "apt-get could not install Chromium; its message is above." >&2
fi

notice
exit 0
