import DefaultTheme from "vitepress/theme";
import RecordedWrites from "./recorded-writes.vue";
import "./site.css";

export default {
  extends: DefaultTheme,
  enhanceApp({ app }: { app: { component(name: string, component: unknown): void } }) {
    app.component("RecordedWrites", RecordedWrites);
  },
};
