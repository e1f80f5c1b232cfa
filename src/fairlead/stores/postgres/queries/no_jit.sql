-- Our statements run for milliseconds, and compiling one takes longer than that. The server compiles where it expects much
-- work, and on a table that grows and empties within seconds its expectations are often wrong.
set jit = off
