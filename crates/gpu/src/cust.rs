//! Conversions to and from `cust`.
