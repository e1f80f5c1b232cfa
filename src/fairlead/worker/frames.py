"""The place in the user's code that an error came from."""

import os
import sysconfig
import traceback
from functools import lru_cache
from types import CodeType

_PACKAGES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
_NOT_USERS = tuple(
    {
        os.path.join(folder, "")
        for folder in (
            os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
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


@lru_cache(maxsize=4096)
def _is_users(filename: str) -> bool:
    """Whether a file is neither Fairlead's nor the standard library's nor an installed package's."""
    if filename.startswith("<"):
        return False
    path = os.path.abspath(filename)
    return not path.startswith(_NOT_USERS) and not any(part in path for part in _PACKAGES)


def _place(code: CodeType) -> str:
    return f"{os.path.basename(code.co_filename)}:{code.co_qualname}"
