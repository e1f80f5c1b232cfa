"""The web page for operators: its built files, and the exchange of an API key for a cookie."""
