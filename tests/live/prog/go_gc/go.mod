module gc

go 1.19
