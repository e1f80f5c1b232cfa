"""The place in the user's code that an error came from."""

import os
import sysconfig
import traceback
from functools import lru_cache
from types import CodeType, TracebackType

_PACKAGES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
_OURS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")
_NOT_USERS = tuple(
    {
        os.path.join(folder, "")
        for folder in (
            _OURS,
            sysconfig.get_path("stdlib"),
            sysconfig.get_path("platstdlib"),
            os.path.dirname(os.__file__),
        )
    }
)


def user_frame(error: BaseException) -> str | None:
    """File and function of the innermost frame that is the user's own, or of the innermost of all."""
    codes = [frame.f_code for frame, _ in traceback.walk_tb(error.__traceback__)]
    if not codes:
        return None
    own = [code for code in codes if _is_users(code.co_filename)]
    return _place((own or codes)[-1])


def from_handler(error: BaseException) -> TracebackType | None:
    """Where an error came from, without the frames of Fairlead that led to the handler."""
    found = error.__traceback__
    while found is not None and found.tb_next is not None and found.tb_frame.f_code.co_filename.startswith(_OURS):
        found = found.tb_next
    return found


@lru_cache(maxsize=4096)
def _is_users(filename: str) -> bool:
    """Whether a file is neither Fairlead's nor the standard library's nor an installed package's."""
    if filename.startswith("<"):
        return False
    path = os.path.abspath(filename)
    return not path.startswith(_NOT_USERS) and not any(part in path for part in _PACKAGES)


def _place(code: CodeType) -> str:
    return f"{os.path.basename(code.co_filename)}:{code.co_qualname}"
