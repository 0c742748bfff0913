mod crd;
