mod fuzz;
