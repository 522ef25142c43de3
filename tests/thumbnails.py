"""Draw the front page's thumbnails anew, from the charts of the pages themselves. `make thumbnails`."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from urllib.parse import unquote

from tqdm import tqdm

sys.path.insert(0, str(Path(__file__).parents[1]))

from npcmem.serve import LESSONS, PAGES
from npcmem.serve.front import THUMBNAILS
from tests import pages, publish

SMALL = """async ([width, height]) => {
  const plots = [...document.querySelectorAll('.npc-plot')].filter((plot) => plot.data);
  const points = (plot) => Math.max(...plot.data.map((trace) => (trace.x ?? []).length));
  const plot = plots.find((one) => points(one) >= 10) ?? plots[0], clear = 'rgba(0,0,0,0)';
  const axis = (name) => ({ ...plot.layout[name], visible: false, title: { text: '' }, automargin: false });
  const layout = { ...plot.layout, width, height, margin: { l: 0, r: 0, t: 4, b: 4 }, annotations: [],
    showlegend: false, xaxis: axis('xaxis'), yaxis: axis('yaxis'), paper_bgcolor: clear, plot_bgcolor: clear };
  const mode = (given) => given?.replace('+text', '').replace('text', 'none');
  const data = plot.data.map((trace) => ({ ...trace, text: undefined, texttemplate: '', mode: mode(trace.mode) }));
  const box = document.body.appendChild(document.createElement('div'));
  await Plotly.newPlot(box, data, layout, { staticPlot: true });
  return Plotly.toImage(box, { format: 'svg', width, height });
}"""


def slim(svg: str) -> str:
    """Return a drawing with no more digits than a small picture needs, and the same names each time."""
    for lot in set(re.findall(r'"(?:top)?defs-([0-9a-f]{6})"', svg)):  # Plotly draws lots for its parts' names
        svg = svg.replace(lot, "npcmem")
    svg = svg.replace(' style=""', "")
    svg = re.sub(r'( trace)[0-9a-f]{6}"', r'\1"', svg)
    return re.sub(r"-?\d+\.\d{2,}", lambda found: f"{float(found[0]):.1f}".removesuffix(".0"), svg)


def main() -> None:
    THUMBNAILS.mkdir(exist_ok=True)
    with publish.crowd() as (url, _), pages.chromium() as browser:
        for scheme in ("light", "dark"):
            for page in tqdm((*PAGES, *LESSONS), desc=scheme):
                here = pages.Visit(browser, color_scheme=scheme)
                here.page.goto(f"{url}voila/render/{page.notebook}")
                here.working()
                drawn = here.page.evaluate(SMALL, [320, 122])
                svg = slim(unquote(drawn.partition(",")[2]))
                (THUMBNAILS / f"{page.stem}-{scheme}.svg").write_text(svg, "utf-8")
                here.close()


if __name__ == "__main__":
    main()
