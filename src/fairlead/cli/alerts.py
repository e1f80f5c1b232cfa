"""`fairlead alerts`: what somebody should know of now."""

from fairlead.cli.breakers import on_store
from fairlead.cli.loading import Database, Json
from fairlead.cli.output import cell, plain, show, show_json, table
from fairlead.core.insight.diagnosis import Level
from fairlead.operate.system_status import health_document, system_status


def alerts(database: Database = None, as_json: Json = False) -> None:
    """Say in one sentence how the system is, and list all that is wrong with what to do about it, the worst first."""
    health = on_store(database, system_status).health
    if as_json:
        document = health_document(health)
        show_json({name: document[name] for name in ("level", "sentence", "alerts")})
        return
    show(plain(health.sentence))
    if health.alerts:
        listing = table(level=True, code=True, what=False, do=False)
        for alert in health.alerts:
            style = "bold red" if alert.level is Level.PROBLEM else "yellow"
            listing.add_row(cell(alert.level.value, style), cell(alert.code), cell(alert.sentence), cell(alert.hint))
        show(listing)
