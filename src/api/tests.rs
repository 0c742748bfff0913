mod crd_files;
mod reading;
mod schema_bounds;
