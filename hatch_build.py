"""Builds the dashboard into a wheel where npm is there; without it the wheel serves a plain page instead."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SECONDS = 600


class DashboardHook(BuildHookInterface[Any]):
    """Runs before the files of a wheel are collected; an editable installation is left to `make dashboard`."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the page, unless it is built already and newer than its sources."""
        folder = Path(self.root, "dashboard")
        built = Path(self.root, "src", "fairlead", "dashboard", "static", "index.html")
        if version == "editable" or not folder.is_dir() or is_fresh(built, folder):
            return
        npm = shutil.which("npm")
        if npm is None:
            self.app.display_warning("npm was not found: this wheel has no dashboard, only a page that says so")
            return
        for arguments in (["ci", "--no-audit", "--no-fund", "--loglevel=error"], ["run", "--silent", "build"]):
            subprocess.run([npm, *arguments], cwd=folder, check=True, timeout=SECONDS)


def is_fresh(built: Path, folder: Path) -> bool:
    """Whether the page is newer than all it is made of."""
    if not built.is_file():
        return False
    sources = [path for path in folder.rglob("*") if path.is_file() and "node_modules" not in path.parts]
    return built.stat().st_mtime >= max(path.stat().st_mtime for path in sources)
