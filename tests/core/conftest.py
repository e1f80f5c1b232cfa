"""Property tests of the core: pure functions, so many examples cost little; a busy machine is no failure."""

import os

from hypothesis import settings

settings.register_profile(
    "fairlead", deadline=None, database=None, max_examples=int(os.environ.get("FAIRLEAD_HYPOTHESIS_EXAMPLES", "60"))
)
settings.load_profile("fairlead")
