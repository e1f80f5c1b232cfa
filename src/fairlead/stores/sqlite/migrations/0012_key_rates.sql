-- How many requests a second a key may send to a server process; null is what the server allows every key.
alter table api_key add column rate real;
