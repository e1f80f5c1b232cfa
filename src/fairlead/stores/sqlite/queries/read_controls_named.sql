select kind, name, value, version, at from control where kind = :kind and name = :name
