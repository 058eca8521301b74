//! Whether everything stored is as it should be, and how much there is of it.
