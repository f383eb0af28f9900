"""How plait's own objects are made of annotated fields, shown, copied and written: what users of
pydantic's models expect of them, at the price of plain classes."""
