"""The endpoints, one file a resource; each calls a use-case of operate/ that the command line uses too."""
