"""Programs of many equal layers, compiled with few of them."""
