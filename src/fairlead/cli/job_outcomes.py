"""What the commands that act on jobs print, and how they ask first."""

from collections.abc import Mapping

from fairlead.cli.loading import on_store
from fairlead.cli.options import require_yes
from fairlead.cli.output import show, show_document
from fairlead.core.jobs.job_records import JobFilter
from fairlead.errors import IllegalMove, JobError
from fairlead.operate import dead_letters
from fairlead.operate.dead_letters import Outcome

MOST_NAMED = 5


def agreed_dead(database: str | None, wanted: JobFilter, limit: int | None, verb: str, yes: bool, as_json: bool) -> int:
    """How many dead jobs fit, after a person has seen that and agreed."""
    found = on_store(database, lambda store: dead_letters.count(store, wanted))
    total = found if limit is None else min(found, limit)
    if total:
        require_yes(f"{verb} {total} dead jobs?", yes, as_json)
    return total


def print_done(outcome: Outcome, done: str, as_json: bool) -> None:
    """Print the ids that an action applied to, if they are few; an error at the end if some were refused."""
    if as_json:
        from fairlead.documents.dead_letters import DeadAction, RefusedDocument

        show_document(DeadAction(done=list(outcome.done), refused=RefusedDocument.all_of(outcome.refused)))
    elif len(outcome.done) <= MOST_NAMED:
        for job_id in outcome.done:
            show(job_id, done, wrap=False)
    if not as_json and len(outcome.done) != 1:
        show(f"{len(outcome.done)} jobs {done}")
    fail_for(outcome.refused)


def fail_for(refused: Mapping[str, JobError]) -> None:
    """One error for all that was refused; a move that is not allowed weighs more than a job that is not there."""
    errors = list(refused.values())
    if not errors:
        return
    worst = next((error for error in errors if isinstance(error, IllegalMove)), errors[0])
    named = "; ".join(map(str, errors[:MOST_NAMED]))
    rest = len(errors) - MOST_NAMED
    raise type(worst)(f"{named}; and {rest} more" if rest > 0 else named)
