import { Icon } from "./icon.tsx";
import { Menu } from "./menu.tsx";
import { chooseTheme, type ThemeChoice, useThemeChoice } from "./theme.ts";

const choices: readonly (readonly [choice: ThemeChoice, name: string])[] = [
  ["system", "System"],
  ["light", "Light"],
  ["dark", "Dark"],
];

/** Light, dark or as the system has it, in the navigation. */
export function ThemeMenu() {
  const chosen = useThemeChoice();
  const sign = (
    <>
      <Icon name="theme" size={22} />
      <span>Theme</span>
    </>
  );
  return (
    <Menu label="Theme" sign={sign} className="nav-link">
      {choices.map(([choice, name]) => (
        <button
          key={choice}
          type="button"
          aria-pressed={choice === chosen}
          onClick={() => chooseTheme(choice)}
        >
          {name}
        </button>
      ))}
    </Menu>
  );
}

/** The same in a view, where the navigation has no room for it. */
export function ThemeSetting() {
  const chosen = useThemeChoice();
  return (
    <label className="theme-setting">
      <span className="label">Theme</span>
      <select
        className="field"
        value={chosen}
        onChange={({ target }) => {
          const choice = choices.find(([each]) => each === target.value)?.[0];
          if (choice !== undefined) chooseTheme(choice);
        }}
      >
        {choices.map(([choice, name]) => (
          <option key={choice} value={choice}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}
