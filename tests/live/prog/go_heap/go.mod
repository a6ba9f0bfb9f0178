module go_heap

go 1.19
