"""Small helpers under the peer's module paths; each module says what it owns.

Names load on first use.
"""

from typing import TYPE_CHECKING

from plait.common.lazy import lazily

if TYPE_CHECKING:
    from plait.utils.aiter import abatch_iterate
    from plait.utils.env import (
        convert_to_secret_str,
        env_var_is_set,
        from_env,
        get_from_dict_or_env,
        get_from_env,
        secret_from_env,
    )
    from plait.utils.importing import guard_import
    from plait.utils.input import (
        get_bolded_text,
        get_color_mapping,
        get_colored_text,
        print_text,
    )
    from plait.utils.iter import batch_iterate
    from plait.utils.pydantic import get_pydantic_field_names, pre_init
    from plait.utils.strings import (
        comma_list,
        sanitize_for_postgres,
        stringify_dict,
        stringify_value,
    )

_HOMES = {
    "comma_list": "strings",
    "guard_import": "importing",
    "sanitize_for_postgres": "strings",
    "stringify_dict": "strings",
    "stringify_value": "strings",
    "abatch_iterate": "aiter",
    "batch_iterate": "iter",
    "convert_to_secret_str": "env",
    "env_var_is_set": "env",
    "from_env": "env",
    "get_bolded_text": "input",
    "get_color_mapping": "input",
    "get_colored_text": "input",
    "get_from_dict_or_env": "env",
    "get_from_env": "env",
    "get_pydantic_field_names": "pydantic",
    "pre_init": "pydantic",
    "print_text": "input",
    "secret_from_env": "env",
}

__getattr__ = lazily(__name__, _HOMES)

__all__ = [
    "abatch_iterate",
    "batch_iterate",
    "comma_list",
    "convert_to_secret_str",
    "env_var_is_set",
    "from_env",
    "get_bolded_text",
    "get_color_mapping",
    "get_colored_text",
    "get_from_dict_or_env",
    "get_from_env",
    "get_pydantic_field_names",
    "guard_import",
    "pre_init",
    "print_text",
    "sanitize_for_postgres",
    "secret_from_env",
    "stringify_dict",
    "stringify_value",
]
