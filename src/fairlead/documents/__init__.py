"""The public documents: one module for a resource, with its pydantic models and their conversion from core's records.

The HTTP API, `--json` on the command line and the HTTP clients use these models, so a thing has the same fields
everywhere; the dashboard's types are generated from them through OpenAPI. Bodies of requests stand beside the document
that they change. What reads or writes the store does not belong here, nor what prints.

The words for acts are the same on every surface: a waiting job or a schedule is `run now`, a dead job is `replayed`,
a job is `cancelled`, a dead job is `purged`, a key is `revoked`, a setting is `set` and `removed`.
"""
