module gobonniego_standin

go 1.20
