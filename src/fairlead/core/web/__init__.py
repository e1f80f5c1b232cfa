"""Decisions for HTTP: API keys, stored responses, callbacks, signatures, egress, proxies. No routes, no sockets."""
