import DefaultTheme from "vitepress/theme";
import PlayGround from "./play-ground.vue";
import RecordedWrites from "./recorded-writes.vue";
import "./site.css";

export default {
  extends: DefaultTheme,
  enhanceApp({ app }: { app: { component(name: string, component: unknown): void } }) {
    app.component("PlayGround", PlayGround);
    app.component("RecordedWrites", RecordedWrites);
  },
};
