mod crd_files;
mod reading;
mod reference;
mod schema_bounds;
