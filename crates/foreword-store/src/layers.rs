//! Mutable layers: content by version, with who wrote it and when.
