"""What operators do, as use-cases that the command line, the HTTP API and the dashboard share."""
