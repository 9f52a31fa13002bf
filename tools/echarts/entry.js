// What reports need of ECharts: lines, shapes of our own, axes, a shared tooltip and titles; a canvas for the page, SVG for export.
import { use } from "echarts/core";
import { CustomChart, LineChart } from "echarts/charts";
import { GridComponent, TitleComponent, TooltipComponent } from "echarts/components";
import { CanvasRenderer, SVGRenderer } from "echarts/renderers";

use([LineChart, CustomChart, GridComponent, TooltipComponent, TitleComponent, CanvasRenderer, SVGRenderer]);
export { init, version } from "echarts/core";
