"""Pages of docs/ whose tables the lab writes, between `<!-- MAKER NAME -->` and `<!-- end -->`."""

import re


def number(value):
    """Returns a number with three digits that count."""
    value = float(f"{value:.3g}")
    return f"{value:,.0f}".replace(",", " ") if value >= 1000 else f"{value:.3g}"


def rewritten(text, maker, made):
    """Returns the page with these tables: {name: lines}. `maker` is the command that made them."""
    for name, lines in made.items():
        pattern = rf"(<!-- {maker} {name} -->\n)(?:(?!<!--).)*(<!-- end -->)"
        if len(re.findall(pattern, text, re.DOTALL)) != 1:
            raise ValueError(f"one place for {name} is wanted")
        new = "\n".join(lines)
        text = re.sub(pattern, lambda match, new=new: f"{match[1]}\n{new}\n\n{match[2]}", text,
                      flags=re.DOTALL)
    return text
