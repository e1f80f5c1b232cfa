"""What travels over HTTP: strict models for what comes in, documents for what goes out."""
