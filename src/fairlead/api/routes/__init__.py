"""The endpoints, one file a resource; each calls a use-case of control/ that the command line uses too."""
