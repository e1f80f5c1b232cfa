"""Programs that show Fairlead at work; each says in its docstring how to run it and what to expect."""
