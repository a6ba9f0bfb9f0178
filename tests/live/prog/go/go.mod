module busy

go 1.18
