//! The offline model as its users meet it.
